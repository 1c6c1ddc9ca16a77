/** Which details of a run are open. It outlives the cards themselves, which come and go while a long run is scrolled. */
import { createContext, useContext, useMemo, useState, type ReactNode } from 'react';

type OpenDetails = {
  areAllOpen: boolean;
  isOpen(slot: string): boolean;
  setOpen(slot: string, isOpen: boolean): void;
  setAll(areOpen: boolean): void;
};

const Context = createContext<OpenDetails>({ areAllOpen: false, isOpen: () => false, setOpen() {}, setAll() {} });

export function OpenDetailsProvider({ children }: { children: ReactNode }) {
  const [state, setState] = useState({ areAllOpen: false, others: new Set<string>() });
  const value = useMemo<OpenDetails>(
    () => ({
      areAllOpen: state.areAllOpen,
      isOpen: (slot) => state.others.has(slot) !== state.areAllOpen,
      setOpen: (slot, isOpen) =>
        setState(({ areAllOpen, others }) => {
          if ((others.has(slot) !== areAllOpen) === isOpen) return { areAllOpen, others };
          const changed = new Set(others);
          if (!changed.delete(slot)) changed.add(slot);
          return { areAllOpen, others: changed };
        }),
      setAll: (areAllOpen) => setState({ areAllOpen, others: new Set() }),
    }),
    [state],
  );
  return <Context value={value}>{children}</Context>;
}

export function useOpenDetails(): OpenDetails {
  return useContext(Context);
}
