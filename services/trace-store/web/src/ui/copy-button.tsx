/** Puts a text into the clipboard. */
import { useState } from 'react';
import { useWords } from '../words/words.tsx';

export function CopyButton({ text }: { text: string }) {
  const { say } = useWords();
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
  };
  return (
    <button type="button" className="copy" onClick={() => void copy()}>
      {isCopied ? say('run.copied') : say('run.copy')}
    </button>
  );
}
