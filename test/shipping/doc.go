// Package shipping checks the Dockerfile, docker-compose.yml and deploy/kubernetes without
// running them: against their schemas, the programs and configuration that they name, and the
// documentation's promises. It also checks the documents' links and translations. It holds tests
// only.
package shipping
