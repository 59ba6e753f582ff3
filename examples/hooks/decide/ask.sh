# The service is not up at the first request.
if [ ! -e asked ]; then
    touch asked
    echo "curl: (7) Failed to connect to localhost port 8080: Connection refused"
    exit 7
fi
