/** The parts of a guided thought. Pure. */

export type ThoughtPart = { name: 'known' | 'missing' | 'next' | 'observed'; text: string };

const heads: Record<ThoughtPart['name'], RegExp> = {
  observed: /^(observed|the observation showed|观察|观察到|observado)\s*[:：]\s*/i,
  known: /^(known|what is known|已知|sabido|o que se sabe)\s*[:：]\s*/i,
  missing: /^(missing|what is missing|缺少|缺失|falta|o que falta)\s*[:：]\s*/i,
  next: /^(next|what comes next|下一步|接下来|próximo passo|próximo|a seguir)\s*[:：]\s*/i,
};

const names = Object.keys(heads) as ThoughtPart['name'][];

/** The parts (observed, known, missing, next) in order, or undefined when it isn't written that way. */
export function thoughtParts(text: string): ThoughtPart[] | undefined {
  const parts: ThoughtPart[] = [];
  for (const line of text.split('\n')) {
    const plain = line.replaceAll('**', '').trim();
    const name = names.find((each) => heads[each].test(plain));
    const last = parts.at(-1);
    if (name) parts.push({ name, text: plain.replace(heads[name], '') });
    else if (last) last.text += `\n${line}`;
    else if (plain !== '') return undefined;
  }
  return parts.length >= 2 ? parts : undefined;
}
