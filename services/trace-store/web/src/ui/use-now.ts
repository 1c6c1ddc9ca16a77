/** The present time, again and again while something goes on. */
import { useEffect, useState } from 'react';

/** Milliseconds; renews itself each `everyMs` while `isOn`. */
export function useNow(isOn: boolean, everyMs = 1_000): number {
  const [nowMs, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (!isOn) return undefined;
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [isOn, everyMs]);
  return nowMs;
}
