// Package shipping checks the files by which the bot is shipped, Dockerfile,
// docker-compose.yml and deploy/kubernetes, without an engine that could run them:
// against their schemas, against the programs and the configuration that they name,
// and against what the documentation promises of them. It holds tests only.
package shipping
