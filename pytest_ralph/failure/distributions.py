"""Python modules whose distribution has another name."""

from __future__ import annotations

# Module in lower case, and the distributions that provide it, the most likely first.
TABLE = """\
attr = attrs
bs4 = beautifulsoup4
cairo = pycairo
corsheaders = django-cors-headers
crypto = pycryptodome pycrypto
cryptodome = pycryptodomex
cv2 = opencv-python opencv-python-headless opencv-contrib-python opencv-contrib-python-headless
dateutil = python-dateutil
discord = discord-py py-cord
django_filters = django-filter
dns = dnspython
docx = python-docx
dotenv = python-dotenv
environ = django-environ environ-config
faiss = faiss-cpu faiss-gpu
fitz = pymupdf
gi = pygobject
git = GitPython
github = pygithub
gitlab = python-gitlab
google = protobuf google-api-python-client
googleapiclient = google-api-python-client
grpc = grpcio
grpc_tools = grpcio-tools
igraph = python-igraph igraph
jose = python-jose
jwt = PyJWT
kafka = kafka-python
ldap = python-ldap
levenshtein = python-levenshtein levenshtein
lxml_html_clean = lxml-html-clean lxml
magic = python-magic
memcache = python-memcached
mpl_toolkits = matplotlib
multipart = python-multipart
mysqldb = mysqlclient
nacl = pynacl
openssl = pyOpenSSL
osgeo = gdal
paho = paho-mqtt
pil = Pillow
pkg_resources = setuptools
pptx = python-pptx
psycopg = psycopg psycopg-binary
psycopg2 = psycopg2-binary
pylab = matplotlib
pythonjsonlogger = python-json-logger
pywintypes = pywin32
rest_framework = djangorestframework
rest_framework_simplejwt = djangorestframework-simplejwt
ruamel = ruamel-yaml
serial = pyserial
shapefile = pyshp
skimage = scikit-image
sklearn = scikit-learn
slugify = python-slugify
socketio = python-socketio
socks = pysocks
speech_recognition = speechrecognition
talib = ta-lib
telegram = python-telegram-bot
umap = umap-learn
usb = pyusb
vlc = python-vlc
websocket = websocket-client
wx = wxpython
xdist = pytest-xdist
yaml = PyYAML ruamel-yaml
zmq = pyzmq
"""


def distributions_of(module: str) -> list[str]:
    """Return the distributions that may provide a module; without a known one, its own name."""
    for line in TABLE.splitlines():
        name, _, distributions = line.partition(" = ")
        if name == module.lower():
            return distributions.split()
    return [module]
