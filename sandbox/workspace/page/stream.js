import { afterPress } from "./press.js";

// stream calls onEvent for each server-sent event, and onConnection with true and false as the
// connection opens and breaks. It always reconnects; the browser alone would give up after
// an HTTP error such as 404. It returns a function that closes the stream.
export function stream(url, onEvent, onConnection) {
  let source, timer, closed = false;
  const call = (f, value) => afterPress(() => { if (!closed) f(value); });
  const open = () => {
    source = new EventSource(url);
    source.onopen = () => call(onConnection, true);
    source.onmessage = e => call(onEvent, JSON.parse(e.data));
    source.onerror = () => {
      if (closed) return;
      call(onConnection, false);
      if (source.readyState === EventSource.CLOSED) timer = setTimeout(open, 2000);
    };
  };
  open();
  return () => { closed = true; clearTimeout(timer); source.close(); };
}
