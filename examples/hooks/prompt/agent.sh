# Stands for an agent: reads its prompt, does the work.
cat > told.txt
echo hello > greeting.txt
