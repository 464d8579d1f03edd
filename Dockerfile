# The bot of every platform that has a token: docs/deploy.md says how to run it.
ARG PYTHON=3.13

FROM python:${PYTHON}-slim AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY core core
COPY bots bots
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels . \
    && python -m venv /opt/askback \
    && /opt/askback/bin/pip install --no-cache-dir "$(ls /wheels/askback-*.whl)[all]"

FROM python:${PYTHON}-slim
RUN useradd --system --uid 10001 --create-home askback \
    && install -d -o askback -g askback -m 700 /data
COPY --from=build /opt/askback /opt/askback
ENV PATH=/opt/askback/bin:$PATH \
    ASKBACK_DATABASE_URL=/data/askback.db \
    ASKBACK_HEALTH=127.0.0.1:8080
USER askback
WORKDIR /home/askback
VOLUME /data
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s CMD ["python", "-I", "-c", "import http.client as h; c = h.HTTPConnection('127.0.0.1', 8080, timeout=4); c.request('GET', '/healthz'); raise SystemExit(c.getresponse().status != 200)"]
ENTRYPOINT ["askback"]
CMD ["run"]
