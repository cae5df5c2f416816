# One image with only the two programs: no shell, no package manager, no libc.
#
#   docker build -t myao .
#   docker run --read-only --cap-drop ALL -v ./config.yaml:/config.yaml:ro --env-file .env -p 8080:8080 myao
#   docker run … --entrypoint /worker myao
#   docker run … myao doctor                     # and the other commands of the starter
#
# The target sandbox is another image, for docker-compose.yml without a Slack workspace.
#
# The tag names a version of Go. To get the same bytes in every build, pin the image by its
# digest, here or with a build argument:
#
#   docker buildx imagetools inspect golang:1.26.8
#   docker build --build-arg GO=golang:1.26.8@sha256:… -t myao .
ARG GO=golang:1.26.8
FROM ${GO} AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
# Includes .git, so that the programs know their revision.
COPY . .
# Without symbols, which only debuggers need. The build information stays.
RUN CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o /out/ ./worker ./starter

FROM build AS build-sandbox
RUN CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o /out/ ./sandbox

FROM scratch AS sandbox
COPY --from=build-sandbox /out/worker /out/sandbox /
USER 65532:65532
ENTRYPOINT ["/sandbox"]

FROM scratch
# The certificates are for calls of Slack and the models. The programs contain the time zones and
# write no files. The container provides /etc/resolv.conf, /etc/hosts and /proc.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/worker /out/starter /
# Licences that must be passed on with the programs.
COPY --from=build /src/LICENSE /src/THIRD_PARTY_NOTICES /
# An account that owns no files. A number shows Kubernetes that it is not root.
USER 65532:65532
# The ports of the starter and of the worker. There is no HEALTHCHECK, because only whoever runs
# the container knows which program it is; `/starter health --url …` checks one.
EXPOSE 8080 8081
ENTRYPOINT ["/starter"]
CMD ["--config", "/config.yaml"]
