# docker build -t rondo .
# docker run --rm rondo                              ten minutes of PyTorch's Inductor
# docker run --rm rondo make fuzz TARGET=toy TIME=60
# docker run --rm rondo make test
# Findings outlive the container with -v "$PWD/findings:/home/rondo/rondo/findings" where that
# folder is writable for user 1000.
FROM python:3.11.7-slim-bookworm

# g++ is for the compilers under test, which build C++ at run time.
RUN apt-get update \
    && apt-get install -y --no-install-recommends g++ git make \
    && rm -rf /var/lib/apt/lists/*

RUN useradd --create-home --uid 1000 rondo
USER rondo
WORKDIR /home/rondo/rondo
ENV PIP_NO_CACHE_DIR=1 PYTHONUNBUFFERED=1

COPY --chown=rondo:rondo . .
RUN make .venv/core.stamp .venv/torch.stamp .venv/jax.stamp .venv/test.stamp && mkdir -p findings

CMD ["make", "fuzz"]
