/** The title of the browser's tab. */
import { useEffect } from 'react';
import { visibleText } from '../record/format.ts';

export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${visibleText(title)} · Pawl`;
  }, [title]);
}
