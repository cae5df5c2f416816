package config

import _ "embed"

// Schema is a JSON Schema of a configuration file, draft 7, by which editors complete and explain its keys. It allows
// what Load does not where only Load can tell; whatever it refuses, Load refuses too.
//
//go:embed schema.json
var Schema []byte
