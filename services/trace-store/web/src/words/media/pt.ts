/** What is said about pictures and files of tools: português do Brasil (Brazilian Portuguese). */
import type { mediaEn } from './en.ts';

export const mediaPt: Record<keyof typeof mediaEn, string> = {
  'media.picture': 'Imagem que a ferramenta devolveu ({{type}}, {{size}})',
  'media.download': 'Baixar {{name}} ({{type}}, {{size}})',
  'media.whole': 'Baixar o resultado inteiro ({{name}})',
  'media.noPicture': 'Isto não é uma imagem que possa ser mostrada. Pode ser baixada.',
  'media.gone': 'Este arquivo não está mais guardado ou nunca existiu.',
};
