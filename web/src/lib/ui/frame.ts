import { createContext } from 'react'

/**
 * FrameContext is the frame of a page: none, the frame of /home (header above), or a layout with the page's main
 * element.
 */
export const FrameContext = createContext<'none' | 'home' | 'main'>('none')
