# One image with both programs and nothing else: no shell, no package manager, no libc.
#
#   docker build -t myao .
#   docker run --read-only --cap-drop ALL -v ./config.yaml:/config.yaml:ro --env-file .env -p 8080:8080 myao
#   docker run … --entrypoint /worker myao
#   docker run … myao doctor                     # and the other commands of the starter
#
# The sandbox is not in it: it starts Temporal's CLI, which alone is twice as large as
# all of this, and it is for trying the source (make run).
#
# The tag names a version of Go. Who wants the same bytes in every build pins the image
# by its digest, in this one place or from outside:
#
#   docker buildx imagetools inspect golang:1.26.8
#   docker build --build-arg GO=golang:1.26.8@sha256:… -t myao .
ARG GO=golang:1.26.8
FROM ${GO} AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
# With .git, so that the programs know the revision that they were built from.
COPY . .
# Without symbols, which only debuggers read; what a program knows of its own making stays.
RUN CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o /out/ ./worker ./starter

FROM scratch
# To call Slack and the models. Time zones are in the programs; they write no files, and
# the container brings what else they read: /etc/resolv.conf, /etc/hosts and /proc.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/worker /out/starter /
# An account that no file belongs to; a number, so that it can be seen not to be root.
USER 65532:65532
# The starter's and the worker's. No HEALTHCHECK: which of the two is to be asked is known
# to who runs the container, who asks with `/starter health --url …`.
EXPOSE 8080 8081
ENTRYPOINT ["/starter"]
CMD ["--config", "/config.yaml"]
