// Times by the server's clock, because due times come from it.

let offset = 0; // of the server's clock, milliseconds

export const setNow = iso => { offset = Date.parse(iso) - Date.now() || 0; };
export const now = () => Date.now() + offset;

export const tsTime = ts => new Date(parseFloat(ts) * 1000);
export const clock = at => new Date(at).toLocaleTimeString("en-GB");

// span formats a duration: "3.2 s", "42 s", "9:30 min".
export function span(ms) {
  const s = Math.max(0, ms) / 1000;
  if (s < 9.95) return s.toFixed(1) + " s";
  if (s < 60) return Math.round(s) + " s";
  const minutes = Math.floor(Math.round(s) / 60), rest = String(Math.round(s) % 60).padStart(2, "0");
  return minutes < 60 ? `${minutes}:${rest} min` : `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, "0")} h`;
}

export function dayName(at) {
  const days = Math.round((new Date().setHours(0, 0, 0, 0) - new Date(at).setHours(0, 0, 0, 0)) / 86400000);
  return days === 0 ? "Today" : days === 1 ? "Yesterday" : at.toLocaleDateString("en", { weekday: "long", day: "numeric", month: "long" });
}
