/**
 * Stands in for micromark-extension-gfm-footnote and mdast-util-gfm-footnote (see the aliases in vite.config.ts), which
 * remark-gfm carries along. A footnote would need the whole text, and `prepare` has escaped it: there is none to be read.
 */
const nothing = () => ({})

export {
  nothing as gfmFootnote,
  nothing as gfmFootnoteFromMarkdown,
  nothing as gfmFootnoteHtml,
  nothing as gfmFootnoteToMarkdown,
}
