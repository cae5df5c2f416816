// Package ingest is the way in: Slack's requests, by HTTP or Socket Mode, are
// verified, normalised, stored and acknowledged, in this order. What Slack has
// been told is taken is committed; what becomes of it is the relay's business.
package ingest
