// Package browser tests the sandbox's page in a headless Chromium, with keyboard and mouse and
// the whole system as `make run` starts it. It checks that everything on the page works and
// updates live, that typed text never runs as code, that no request leaves the machine, and
// that the page is accessible (also with axe-core).
//
// `make test-browser` runs it. Without -browser.run its tests are skipped, because no other test
// needs a browser. `make screenshots` takes the pictures in docs/images.
package browser
