-- The retention job goes through old rows in the order of their age. changes and memories
-- have ids that grow with time, model_calls has an index, and messages are walked along
-- their primary key: what every message writes gets no index for it. These are written
-- once a decision, a reply and an order.

-- +goose Up
CREATE INDEX decisions_by_time ON decisions (decided_us) WHERE key <> ''; -- which all have: it shall tempt nobody who looks for a conversation
CREATE INDEX outbox_by_time ON outbox (stored_us);
CREATE INDEX orders_by_time ON orders (ordered_us);

-- +goose Down
DROP INDEX orders_by_time;
DROP INDEX outbox_by_time;
DROP INDEX decisions_by_time;
