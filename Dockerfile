# Two images: the server, and with `--target export` the server that also imports models (docs/guides/deploying.md).
# The digest, of Python 3.11.16, gives each build the same base; the tag beside it is for readers.
ARG PYTHON_IMAGE=python:3.11-slim-bookworm@sha256:528257d48c1da0dcecc2e725d1ae34498d60c965f1241e39cd6a85a8859bdf84

FROM ${PYTHON_IMAGE} AS build
WORKDIR /src

# pip lives in a venv of its own: the one that ships holds the service and its dependencies, nothing else.
RUN python3 -m venv /opt/installer && python3 -m venv --without-pip /opt/dragoman

# For the kernels; the image gets only the library.
RUN apt-get update && apt-get install --yes --no-install-recommends g++ && rm -rf /var/lib/apt/lists/*

# Dependencies before code, so that a change of code reuses this layer. The extras are in it because an image
# without pip cannot be given them later.
COPY requirements/build.txt requirements/sbom.txt requirements/image.txt ./
RUN /opt/installer/bin/pip install --no-cache-dir --no-deps --require-hashes --requirement build.txt \
        --requirement sbom.txt \
    && /opt/installer/bin/pip --python /opt/dragoman install --no-cache-dir --no-compile --no-deps \
        --require-hashes --requirement image.txt

# What packages ship for those who build, test or read them, onnxruntime's library for C, which its Python module
# does not load, Arrow's own ways to S3 and to other machines, Zstandard for PyPy, and what botocore knows of services
# that are not S3 and do not sign in to it: 180 MB with their bytecode.
RUN cd /opt/dragoman/lib/python3.11/site-packages \
    && find . -type d -name tests -prune -exec rm -r {} + \
    && find . -name '*.pyi' -delete \
    && rm -r numpy/_core/include numpy/distutils numpy/f2py \
        onnxruntime/capi/libonnxruntime.so.* onnxruntime/datasets onnxruntime/quantization onnxruntime/tools \
        onnxruntime/transformers \
        language_data/data sqlalchemy/testing zstandard/_cffi.* zstandard/backend_cffi.py \
        pyarrow/include pyarrow/_flight.* pyarrow/_s3fs.* pyarrow/libarrow_flight.* pyarrow/libarrow_python_flight.* \
        pyarrow/libarrow_s3.* \
    && find botocore/data -mindepth 1 -maxdepth 1 -type d ! -name s3 ! -name sts ! -name 'sso*' -exec rm -r {} +

# The bill of materials lists what the lock file brought. Bytecode is written here, once; unchecked, because nobody
# edits a file of the image later.
COPY pyproject.toml setup.py MANIFEST.in README.md LICENSE ./
COPY dragoman dragoman
COPY service service
COPY export export
RUN /opt/installer/bin/pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir /opt/wheel . \
    && /opt/installer/bin/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible \
        --output-file /opt/dragoman/sbom.cdx.json /opt/dragoman/bin/python3 \
    && /opt/installer/bin/pip --python /opt/dragoman install --no-cache-dir --no-compile --no-deps /opt/wheel/*.whl \
    && python3 -m compileall -q --invalidation-mode unchecked-hash /opt/dragoman/lib

# A freshly written bundle may be its owner's alone; the service runs as somebody else.
COPY models /srv/dragoman/models
RUN chmod -R a+rX /srv/dragoman


FROM build AS build-export
COPY requirements/export.txt ./
RUN /opt/installer/bin/pip --python /opt/dragoman install --no-cache-dir --no-compile --no-deps \
        --require-hashes --requirement export.txt \
    && rm -r /opt/dragoman/lib/python3.11/site-packages/onnx/backend/test \
    && /opt/installer/bin/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible \
        --output-file /opt/dragoman/sbom.cdx.json /opt/dragoman/bin/python3 \
    && python3 -m compileall -q --invalidation-mode unchecked-hash /opt/dragoman/lib


FROM ${PYTHON_IMAGE} AS runtime
LABEL org.opencontainers.image.title="Dragoman" \
      org.opencontainers.image.description="A self-hosted translation server: text in, text out, over HTTP" \
      org.opencontainers.image.licenses="Apache-2.0"
ENV PATH=/opt/dragoman/bin:$PATH \
    ORT_DISABLE_TELEMETRY=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    DRAGOMAN_HOST=0.0.0.0 \
    DRAGOMAN_PORT=8000 \
    DRAGOMAN_MODELS_DIR=/srv/dragoman/models

# Files belong to root: the root file system may be read-only, with a tmpfs for /tmp.
COPY --from=build /srv/dragoman /srv/dragoman
# For volumes, which take over whose folder it is: models are imported into the one, and the database of keys is
# looked for in the other, the current folder.
RUN install -d -o 10001 -g 10001 /srv/dragoman/models && install -d -o 10001 -g 10001 -m 700 /var/lib/dragoman
WORKDIR /var/lib/dragoman

# A number, not a name: an orchestrator can see that it is not root.
USER 10001:10001
EXPOSE 8000


FROM runtime AS export
ENV HF_HOME=/tmp/huggingface
COPY --from=build-export /opt/dragoman /opt/dragoman
CMD ["dragoman", "import", "--help"]


FROM runtime AS server
COPY --from=build /opt/dragoman /opt/dragoman
# Alive, not ready: engines restart what is unhealthy, and a server whose queue is full or that drains is not ill.
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python3", "-c", "import os, urllib.request as r; r.urlopen('http://127.0.0.1:' + os.environ['DRAGOMAN_PORT'] + '/healthz', timeout=4)"]
CMD ["dragoman", "serve"]
