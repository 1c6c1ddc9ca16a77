/** A long list of which at first only the beginning stands in the document. */
import { useState, type ReactNode } from 'react';
import { useWords } from '../words/words.tsx';

const atOnce = 100;

/** The items to show, and the button that brings more of them. */
export function useFew<T>(items: readonly T[]): { shown: readonly T[]; more: ReactNode } {
  const { say, count } = useWords();
  const [max, setMax] = useState(atOnce);
  const left = items.length - max;
  const more = left > 0 && (
    <button type="button" className="more" onClick={() => setMax(max + atOnce)}>
      {say('list.more', { shown: count(left) })}
    </button>
  );
  return { shown: items.slice(0, max), more };
}
