import { createStore } from 'jotai'

/** The atoms' store, outside React: a stream sets its text here once a frame without rendering anything else. */
export const store = createStore()
