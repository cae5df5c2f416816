# One image with both programs and nothing else: no shell, no package manager, no libc.
#
#   docker build -t myao .
#   docker run --read-only --cap-drop ALL -v ./config.yaml:/config.yaml:ro --env-file .env -p 8080:8080 myao
#   docker run … --entrypoint /worker myao
FROM golang:1.26.8 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
# With .git, so that the programs know the revision that they were built from.
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o /out/ ./worker ./starter

FROM scratch
# To call Slack and the models. Time zones are in the programs; they write no files, and
# the container brings what else they read: /etc/resolv.conf, /etc/hosts and /proc.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/worker /out/starter /
# An account that no file belongs to; a number, so that it can be seen not to be root.
USER 65532:65532
EXPOSE 8080
ENTRYPOINT ["/starter"]
CMD ["--config", "/config.yaml"]
