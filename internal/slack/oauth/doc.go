// Package oauth has workspaces and organisations install the app: it sends a browser to Slack, exchanges the
// code with which it comes back, and hands the grant over to be stored. It also exchanges refresh tokens.
//
// It does not use PKCE. Slack takes that only from apps that are marked as public clients, for good, and whose
// refresh tokens end after 30 days (docs.slack.dev/authentication/using-pkce). Others it refuses with
// pkce_not_allowed. A server keeps the client secret, and the state is bound to the browser.
package oauth
