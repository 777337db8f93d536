import { createStore } from 'jotai'

/**
 * The store of the atoms, outside React. A stream sets its text here once per frame without rendering anything else.
 */
export const store = createStore()
