import '@/styles/tokens.css'
import '@/styles/base.css'
import { createRoot } from 'react-dom/client'
import { preloadMarkdown, setMarkdownTexts } from '@/lib/markdown'
import { ime } from '@/lib/ui/ime'
import { speakLanguage, t } from '../lib/texts'
import { App } from './App'
import { english } from './markdownTexts'
import { closeAll } from './useConversation'

speakLanguage()
if (t('lang') === 'en') setMarkdownTexts(english)
ime.watch(document)
void preloadMarkdown()
// A closing panel stores the positions of its answers. The server continues them.
window.addEventListener('pagehide', closeAll)

const root = document.getElementById('root')
if (root) createRoot(root).render(<App />)
