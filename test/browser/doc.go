// Package browser looks at the sandbox's page as its visitors do: in a Chromium without
// a window, by keyboard and mouse, with the whole system behind it as `make run` starts
// it. What the page promises is tested here: that everything on it works and arrives
// live, that nothing typed is ever run, that no request leaves the machine, and that it
// can be read and used by everybody (axe-core looks at that, besides).
//
// `make test-browser` runs it. Without -browser.run its tests are skipped: all other
// tests need no browser. `make screenshots` takes the pictures in docs/images.
package browser
