/** What is said about pictures and files of tools: 简体中文 (simplified Chinese). */
import type { mediaEn } from './en.ts';

export const mediaZh: Record<keyof typeof mediaEn, string> = {
  'media.picture': '工具返回的图片（{{type}}，{{size}}）',
  'media.download': '下载 {{name}}（{{type}}，{{size}}）',
  'media.whole': '下载完整结果（{{name}}）',
  'media.noPicture': '这不是可以显示的图片，但可以下载。',
  'media.gone': '此文件已不再保留，或从未存在。',
};
