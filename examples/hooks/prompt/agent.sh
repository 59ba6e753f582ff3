# Stands in for an agent: it saves its prompt and does the work.
cat > told.txt
echo hello > greeting.txt
