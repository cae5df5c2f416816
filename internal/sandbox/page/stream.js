import { calmly } from "./calm.js";

// stream listens to server-sent events and comes back after whatever broke them off: a
// browser tries again by itself, but for good answers of the wrong kind, such as a 404.
// state is called with true and false as the connection comes and goes.
export function stream(url, hear, state) {
  let source, timer, closed = false;
  const tell = (whom, what) => calmly(() => { if (!closed) whom(what); });
  const open = () => {
    source = new EventSource(url);
    source.onopen = () => tell(state, true);
    source.onmessage = e => tell(hear, JSON.parse(e.data));
    source.onerror = () => {
      if (closed) return;
      tell(state, false);
      if (source.readyState === EventSource.CLOSED) timer = setTimeout(open, 2000);
    };
  };
  open();
  return () => { closed = true; clearTimeout(timer); source.close(); };
}
