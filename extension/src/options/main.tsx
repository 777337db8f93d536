import '@/styles/tokens.css'
import '@/styles/base.css'
import { createRoot } from 'react-dom/client'
import { ime } from '@/lib/ui/ime'
import { speakLanguage, t } from '../lib/texts'
import { Options } from './Options'

speakLanguage()
document.title = t('optionsTitle')
ime.watch(document)

const root = document.getElementById('root')
if (root) createRoot(root).render(<Options />)
