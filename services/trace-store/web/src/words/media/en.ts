/** What is said about pictures and files of tools: English. */
export const mediaEn = {
  'media.picture': 'Picture that the tool returned ({{type}}, {{size}})',
  'media.download': 'Download {{name}} ({{type}}, {{size}})',
  'media.whole': 'Download the whole result ({{name}})',
  'media.noPicture': 'This is not a picture that can be shown. It can be downloaded.',
  'media.gone': 'This file is no longer kept, or was never there.',
};
