// Package config reads the one configuration file that starter, worker and
// sandbox share, and refuses it when anything in it is wrong.
//
// What passes through it, in this order: the file's bytes → a YAML tree →
// ${NAME} expanded inside the tree's strings, so that a variable's value can
// never become structure → a [Config] on top of the defaults → validation.
// Whatever is wrong at any of these steps is collected, so that one start tells
// every fault of a file: see [Error].
//
// Durations are whole seconds, hours or days in the file, as the keys' names
// say; the methods return them as [time.Duration].
package config
