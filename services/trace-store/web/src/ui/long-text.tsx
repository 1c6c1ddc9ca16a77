/** A text in full, its far end behind a button when it is very long. */
import { useState } from 'react';
import { visibleText } from '../record/format.ts';
import { useWords } from '../words/words.tsx';

const charsAtFirst = 4_000;

export function LongText({ text, as: Element = 'pre' }: { text: string; as?: 'pre' | 'p' }) {
  const { say, count } = useWords();
  const [isWhole, setWhole] = useState(false);
  const isCut = text.length > charsAtFirst && !isWhole;
  return (
    <>
      <Element className="long" dir="auto" {...(Element === 'pre' ? { tabIndex: 0 } : {})}>
        {visibleText(isCut ? text.slice(0, charsAtFirst) : text)}
      </Element>
      {isCut && (
        <button type="button" className="more" onClick={() => setWhole(true)}>
          {say('value.allCharacters', { shown: count(text.length) })}
        </button>
      )}
    </>
  );
}
