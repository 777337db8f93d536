import { createContext } from 'react'

/** The frame of a page: none, the frame of /home (header above), or a layout that has the page's main element. */
export const FrameContext = createContext<'none' | 'home' | 'main'>('none')
