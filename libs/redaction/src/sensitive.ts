/**
 * What secrets and personal data look like. Pure. Every pattern takes time linear in the text: none backs out of a
 * repetition into another.
 */

/** Names of fields that hold secrets, whatever the value looks like. */
export const secretKey =
  /^(?:x-)?(?:api[-_ ]?key|apikey|(?:access|refresh|id|auth|session|bearer|csrf)[-_ ]?token|token|(?:client|app|shared|signing|webhook)?[-_ ]?secret|secret[-_ ]?(?:access[-_ ]?)?key|pass(?:word|wd|phrase)?|pwd|(?:proxy-)?authorization|(?:set-)?cookie|private[-_ ]?key|credentials?|connection[-_ ]?string)$/i;

/** `$1` is what stays in front of the secret. */
const secretPatterns: RegExp[] = [
  // Keys of model providers, code hosts, chats, clouds.
  /()\b(?:sk|pk|rk)-[A-Za-z0-9_-]{8,200}/g,
  /()\b(?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{8,200}/g,
  /()\bgh[pousr]_[A-Za-z0-9]{20,255}/g,
  /()\bgithub_pat_[A-Za-z0-9_]{20,255}/g,
  /()\bxox[abprs]-[A-Za-z0-9-]{10,250}/g,
  /()\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/g,
  /()\bAIza[0-9A-Za-z_-]{35}/g,
  /()\bpawl_[A-Za-z0-9_-]{16,200}/g,
  /()\beyJ[A-Za-z0-9_-]{5,4000}\.[A-Za-z0-9_-]{5,8000}\.[A-Za-z0-9_-]{0,4000}/g,
  /()-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[^-]{0,20000}(?:-----END [A-Z ]{0,40}PRIVATE KEY-----)?/g,
  // Credentials in headers, addresses and assignments.
  /(\b(?:proxy-)?authorization["']?\s{0,8}[:=]\s{0,8}["']?(?:(?:Basic|Bearer|Digest|Token)\s{1,8})?)[^\s"',;&]{3,8000}/gi,
  /(\bBearer\s{1,8})(?=[A-Za-z0-9._~+/-]{0,200}[0-9._])[A-Za-z0-9._~+/-]{8,8000}={0,2}/g,
  /(\bBasic\s{1,8})(?=[A-Za-z0-9+/]{0,200}[0-9+/=])[A-Za-z0-9+/]{8,2000}={0,2}/g,
  /([?&](?:key|api[-_]?key|apikey|token|access_token|sig|signature|password|secret|auth|x-amz-signature)=)[^&\s"'#<>]{3,8000}/gi,
  /(\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s:/@"']{0,200}:)[^\s@/"']{1,500}(?=@)/gi,
  /(\b(?:api[-_]?key|apikey|access[-_]?token|client[-_]?secret|secret[-_]?key|password|passwd|pwd)["']?\s{0,8}[:=]\s{0,8}["']?)[^\s"',;&}\\]{3,2000}/gi,
];

/**
 * What every secret has near it: most text has none of it, and is not looked through further. Rare characters come first
 * and are looked back from, which takes half the time.
 */
const hint =
  /[-_](?<=[sprk]{2}[-_]|gh[pousr]_|github_pat_|pawl_)|=(?<=[?&][\w-]{1,20}=)|:\/\/|xox|AKIA|ASIA|AIza|eyJ|PRIVATE KEY|authorization|Bearer|Basic|api[-_]?key|access[-_]?token|secret|passw|pwd/i;

/** A name in JSON text, also in JSON that is quoted in it, of a field that holds a secret. */
const secretName = new RegExp(`"${secretKey.source.slice(1, -1)}\\\\*"`, 'i');

/**
 * Whether JSON text may hold a secret, told without taking it apart: most text holds none. Characters that are written as
 * escapes could hide one.
 */
export function mayHoldSecrets(jsonText: string): boolean {
  return jsonText.includes('\\u') || jsonText.includes('\\/') || hint.test(jsonText) || secretName.test(jsonText);
}

/** The text with each secret replaced by `mark`; what tells that there was one stays. */
export function redactSecrets(text: string, mark: string): string {
  if (!hint.test(text)) return text;
  let clean = text;
  for (const find of secretPatterns) {
    clean = clean.replace(find, (whole: string, before: string) =>
      whole.startsWith(mark, before.length) ? whole : before + mark,
    );
  }
  return clean;
}

/** Kinds of personal data that an app may want out. */
export const personalKinds = ['email', 'phone', 'card', 'iban', 'cpf', 'cnpj', 'ip'] as const;
export type PersonalKind = (typeof personalKinds)[number];

type Replace = (text: string, mark: string) => string;

export const personalPatterns: Record<PersonalKind, Replace> = {
  email: replacing(/[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8}/g),
  phone: replacing(
    /(?<![\w.])(?:\+\d{1,3}[ .-]?)?(?:\(\d{2,4}\)[ .-]?)?\d{2,5}[ .-]\d{3,5}(?:[ .-]\d{2,5}){0,3}(?![\w.]\d)/g,
    (found) => found.replaceAll(/\D/g, '').length >= 8 && !/^\d{4}-\d{2}-\d{2}$/.test(found),
  ),
  card: replacing(/(?<![\d.])\d(?:[ -]?\d){12,18}(?![\d.])/g, passesLuhn),
  iban: replacing(/\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b/g),
  cpf: replacing(/(?<!\d)\d{3}\.?\d{3}\.?\d{3}-?\d{2}(?!\d)/g, isCpf),
  cnpj: replacing(/(?<!\d)\d{2}\.?\d{3}\.?\d{3}\/?\d{4}-?\d{2}(?!\d)/g, (found) => /[./-]/.test(found)),
  ip: replacing(/(?<![\d.])(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?:25[0-5]|2[0-4]\d|1?\d?\d)){3}(?![\d.])/g),
};

function replacing(find: RegExp, isMeant: (found: string) => boolean = () => true): Replace {
  return (text, mark) => text.replace(find, (found) => (isMeant(found) ? mark : found));
}

/** The check digit of payment cards (ISO/IEC 7812-1). */
function passesLuhn(text: string): boolean {
  const digits = text.replaceAll(/\D/g, '');
  let sum = 0;
  for (let at = 0; at < digits.length; at++) {
    const digit = Number(digits[digits.length - 1 - at]);
    const weighed = at % 2 === 1 ? digit * 2 : digit;
    sum += weighed > 9 ? weighed - 9 : weighed;
  }
  return sum % 10 === 0 && !/^(\d)\1+$/.test(digits);
}

/** The two check digits of the Brazilian taxpayer number. */
function isCpf(text: string): boolean {
  const digits = Array.from(text.replaceAll(/\D/g, ''), Number);
  if (digits.length !== 11 || digits.every((digit) => digit === digits[0])) return false;
  return [9, 10].every((length) => {
    const sum = digits.slice(0, length).reduce((total, digit, at) => total + digit * (length + 1 - at), 0);
    return ((sum * 10) % 11) % 10 === digits[length];
  });
}
