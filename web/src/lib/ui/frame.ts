import { createContext } from 'react'

/** What a page stands in: nothing, the frame of /home (header above), or a layout that has the page's main element. */
export const FrameContext = createContext<'none' | 'home' | 'main'>('none')
