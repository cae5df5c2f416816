// Package config reads the configuration file that starter, worker and sandbox
// share, and refuses it if anything in it is wrong.
//
// The steps are: the file's bytes → a YAML tree (document.go) → a [Config] on top of
// the defaults (decode.go) → the rules for single values (rules.go) → what values
// require of each other (validate.go). ${NAME} is expanded inside the tree's texts, so
// the value of a variable can never become structure. The faults of all steps are
// collected, so one start reports everything that is wrong with a file: see [Error].
//
// Durations in the file are whole seconds, hours or days, as the keys' names say. The
// methods return them as [time.Duration].
package config
