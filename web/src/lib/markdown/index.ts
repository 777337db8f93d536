export { loadFormulaStyles, Markdown, type MarkdownProps, markdownToHtml, preloadMarkdown } from './Markdown'
