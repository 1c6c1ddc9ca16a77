/** The records of a run as turns: a thought, its calls and what came of each. Pure. */

/**
 * `{ started, ended, turns, notes }`. A turn has `m`, `step`, `thought`, `calls`, `notes` and the `lost` slots of its own;
 * a call has `i`, `tool`, `args`, `observed`, `approval` and a `state`: done, running, missing or unreadable.
 */
export function storyOf({ run, records, missing, unreadable }) {
  const story = { started: undefined, ended: undefined, turns: [], notes: [] };
  const lost = lostSlots(missing, unreadable);
  const turns = new Map();
  const turnOf = (m) => {
    if (!turns.has(m))
      turns.set(m, { m, step: null, thought: undefined, acted: undefined, records: [], notes: [], lost: [] });
    return turns.get(m);
  };
  let latest = story;
  for (const record of records) {
    if (record.kind === 'started' || record.kind === 'ended') story[record.kind] = record;
    else if (record.m === undefined) latest.notes.push(record);
    else {
      latest = turnOf(record.m);
      place(record, latest);
    }
  }
  for (const { slot } of lost.values()) {
    const [kind, m] = slot.split('.');
    if (kind === 'thought' || kind === 'acted' || kind === 'observed') turnOf(Number(m));
  }
  story.turns = [...turns.values()]
    .toSorted((left, right) => left.m - right.m)
    .map((turn) => completeTurn(turn, { lost, isOver: run.status === 'ended' }));
  return story;
}

function lostSlots(missing, unreadable) {
  const lost = new Map(missing.map((slot) => [slot, { slot, state: 'missing' }]));
  for (const entry of unreadable) lost.set(entry.slot, { ...entry, state: 'unreadable' });
  return lost;
}

function place(record, turn) {
  turn.step ??= record.step;
  if (record.kind === 'thought' || record.kind === 'acted') turn[record.kind] = record;
  else turn.records.push(record);
}

function completeTurn(turn, { lost, isOver }) {
  const { m } = turn;
  const calls = callsOf(turn, lost).map((call) => {
    const slot = `observed.${m}.${call.i}`;
    const observed = turn.records.find((record) => record.slot === slot);
    const approval = turn.records.find((record) => record.slot === `approval.${m}.${call.i}`);
    const state = observed ? 'done' : (lost.get(slot)?.state ?? (isOver ? 'missing' : 'running'));
    return { ...call, slot, observed, approval, state, lost: lost.get(slot) };
  });
  const own = [`thought.${m}`, `acted.${m}`].filter((slot) => lost.has(slot)).map((slot) => lost.get(slot));
  return { ...turn, calls, lost: own };
}

/** The calls as they were acted; before that, or where it is lost, as asked for or as observed. */
function callsOf(turn, lost) {
  const acted = turn.acted?.body?.calls;
  if (acted) return acted;
  const calls = new Map();
  for (const [i, call] of (turn.thought?.body?.calls ?? []).entries())
    calls.set(i, { i, tool: call.tool, args: call.args });
  for (const { kind, i, tool } of turn.records) {
    if (kind === 'observed' && !calls.has(i)) calls.set(i, { i, tool, args: undefined });
  }
  for (const slot of lost.keys()) {
    const [kind, m, i] = slot.split('.');
    const at = Number(i);
    if (kind === 'observed' && Number(m) === turn.m && !calls.has(at))
      calls.set(at, { i: at, tool: undefined, args: undefined });
  }
  return [...calls.values()].toSorted((left, right) => left.i - right.i);
}

/** The parts of a guided thought (known, missing, next) in order, or undefined when it isn't written that way. */
export function thoughtParts(text) {
  const heads = {
    known: /^(known|what is known|已知|sabido|o que se sabe)\s*[:：]\s*/i,
    missing: /^(missing|what is missing|缺少|缺失|falta|o que falta)\s*[:：]\s*/i,
    next: /^(next|what comes next|下一步|接下来|próximo passo|próximo|a seguir)\s*[:：]\s*/i,
  };
  const parts = [];
  for (const line of text.split('\n')) {
    const plain = line.replaceAll('**', '').trim();
    const name = Object.keys(heads).find((head) => heads[head].test(plain));
    if (name) parts.push({ name, text: plain.replace(heads[name], '') });
    else if (parts.length > 0) parts.at(-1).text += `\n${line}`;
    else if (plain !== '') return undefined;
  }
  return parts.length >= 2 ? parts : undefined;
}
