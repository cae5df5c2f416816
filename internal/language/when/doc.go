// Package when reads when something is due, and finds when it is due again. It does no I/O. What
// passes through it are texts and local times; what comes out are instants.
package when
