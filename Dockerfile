FROM python:3.11-slim-bookworm AS build
WORKDIR /src

# pip lives in a venv of its own: the one that ships holds the service and its dependencies, nothing else.
RUN python3 -m venv /opt/installer && python3 -m venv --without-pip /opt/dragoman

# Dependencies before code, so that a change of code reuses this layer.
COPY pyproject.toml ./
RUN python3 -c "import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))['project']['dependencies'], sep='\n')" \
        > /opt/installer/requirements.txt \
    && /opt/installer/bin/pip --python /opt/dragoman install --no-cache-dir --no-compile \
        --requirement /opt/installer/requirements.txt

# Bytecode is written here, once; unchecked, because nobody edits a file of the image later.
COPY README.md LICENSE ./
COPY dragoman dragoman
COPY service service
RUN /opt/installer/bin/pip --python /opt/dragoman install --no-cache-dir --no-compile --no-deps . \
    && python3 -m compileall -q --invalidation-mode unchecked-hash /opt/dragoman/lib

# A freshly written bundle may be its owner's alone; the service runs as somebody else.
COPY models /srv/dragoman/models
RUN chmod -R a+rX /srv/dragoman


FROM python:3.11-slim-bookworm
LABEL org.opencontainers.image.title="Dragoman" \
      org.opencontainers.image.description="A self-hosted translation server: text in, text out, over HTTP" \
      org.opencontainers.image.licenses="Apache-2.0"
ENV PATH=/opt/dragoman/bin:$PATH \
    ORT_DISABLE_TELEMETRY=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1

# Everything below belongs to root and the service writes nothing: the root file system may be read-only.
COPY --from=build /opt/dragoman /opt/dragoman
COPY --from=build /srv/dragoman /srv/dragoman
WORKDIR /srv/dragoman

# A number, not a name: an orchestrator can see that it is not root.
USER 10001:10001
EXPOSE 8000
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python3", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]
CMD ["dragoman", "serve", "--host", "0.0.0.0", "--port", "8000"]
