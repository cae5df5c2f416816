package config

import (
	"reflect"
	"testing"
)

func TestEveryNumberHasARule(t *testing.T) {
	fields := map[string]bool{}
	var walk func(section reflect.Type)
	walk = func(section reflect.Type) {
		for field := range section.Fields() {
			if _, ok := keyOf(field); !ok {
				continue
			}
			fields[section.Name()+"."+field.Name] = true
			v := field.Type
			for v.Kind() == reflect.Pointer || v.Kind() == reflect.Map || v.Kind() == reflect.Slice {
				v = v.Elem()
			}
			switch v.Kind() {
			case reflect.Struct:
				walk(v)
			case reflect.Int, reflect.Float64:
				if ruleOf(section, field).check == nil {
					t.Errorf("%s.%s may be any number", section.Name(), field.Name)
				}
			}
		}
	}
	walk(reflect.TypeFor[Config]())
	for name := range rules {
		if !fields[name] {
			t.Errorf("the rule of %s has no field", name)
		}
	}
}
