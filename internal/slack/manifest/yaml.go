package manifest

import (
	"bytes"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// YAML returns the manifest with comments that explain it.
func (m Manifest) YAML() ([]byte, error) {
	var root yaml.Node
	if err := root.Encode(m); err != nil {
		return nil, fmt.Errorf("write the manifest: %w", err)
	}
	root.HeadComment = `The Slack app that ` + oneLine(m.Display.Name) + ` is, as starter manifest prints it. At
https://api.slack.com/apps choose "Create New App", "From a manifest", and paste this; or
over an app that there is already, under "App Manifest", and install it again.`
	note(&root, "Without these two nobody can write a direct message to the bot.", "features", "app_home",
		"messages_tab_enabled")
	note(&root, "Each kind of conversation has a pair. Of the first six none can be left out: the list\n"+
		"of the channels it is in (users.conversations) asks for all kinds in one call, and\n"+
		"Slack refuses the whole call where one is not granted. Only those for group direct\n"+
		"messages it goes on without.", "oauth_config", "scopes", "bot", "channels:history")
	for _, s := range m.scopes {
		if item, _ := find(&root, "oauth_config", "scopes", "bot", s.Name); item != nil {
			item.LineComment = oneLine(s.Reason)
		}
	}
	if m.Settings.SocketMode {
		note(&root, "No public address is needed: slack.app_token chooses it on our side.", "settings",
			"socket_mode_enabled")
	} else {
		note(&root, "The starter's address, over HTTPS.", "settings", "event_subscriptions", "request_url")
	}
	rotation := "The bot token is read from the environment and never renewed."
	if m.Settings.TokenRotation {
		note(&root, "Where Slack leads whoever has installed the app: server.public_url.", "oauth_config", "redirect_urls")
		note(&root, "An organisation may install the app as a whole, and grant it to its workspaces.", "settings",
			"org_deploy_enabled")
		rotation = "Tokens end after twelve hours and are renewed before. Slack does not let this be switched off again."
	}
	note(&root, rotation, "settings", "token_rotation_enabled")
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(&root); err != nil {
		return nil, fmt.Errorf("write the manifest: %w", err)
	}
	return out.Bytes(), encoder.Close()
}

// note puts a comment above the node at a path of keys.
func note(root *yaml.Node, comment string, path ...string) {
	if node, _ := find(root, path...); node != nil {
		node.HeadComment = comment
	}
}

// find returns the node that carries the comment of a path, and its value. That node is the key
// in a mapping, or the item of a list.
func find(node *yaml.Node, path ...string) (bearer, value *yaml.Node) {
	bearer, value = nil, node
	for _, name := range path {
		bearer = nil
		for i, child := range value.Content {
			if child.Value != name {
				continue
			}
			if value.Kind == yaml.SequenceNode {
				bearer, value = child, child
				break
			}
			if i%2 == 0 {
				bearer, value = child, value.Content[i+1]
				break
			}
		}
		if bearer == nil {
			return nil, nil
		}
	}
	return bearer, value
}

// oneLine replaces control characters and line breaks: a comment must stay on one line.
func oneLine(s string) string {
	return string(bytes.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 {
			return ' '
		}
		return r
	}, []byte(s)))
}
