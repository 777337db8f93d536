import { createContext } from 'react'

/** FrameContext is true for pages in the frame of signed-in users, which has the header and the main element. */
export const FrameContext = createContext(false)
