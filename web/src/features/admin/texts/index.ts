import { auditScreen } from './auditScreen'
import { connectionsScreen } from './connectionsScreen'
import { contractScreen } from './contractScreen'
import { extensionScreen } from './extensionScreen'
import { feedbackScreen } from './feedbackScreen'
import { frame } from './frame'
import { groupsScreen } from './groupsScreen'
import { instructionsScreen } from './instructionsScreen'
import { memberScreens } from './memberScreens'
import { modelsScreen } from './modelsScreen'
import { roles, states } from './names'
import { noticesScreen } from './noticesScreen'
import { oidcScreens } from './oidcScreens'
import { projectsScreen } from './projectsScreen'
import { retentionScreen } from './retentionScreen'
import { samlScreens } from './samlScreens'
import { scimScreen } from './scimScreen'
import { sharesScreen } from './sharesScreen'
import { slackScreen } from './slackScreen'
import { stateScreen } from './stateScreen'
import { toolsScreen } from './toolsScreen'

/** The texts of the admin screens. */
export const texts = {
  roles,
  states,
  ...frame,
  ...contractScreen,
  ...memberScreens,
  ...groupsScreen,
  ...projectsScreen,
  ...retentionScreen,
  ...oidcScreens,
  ...samlScreens,
  ...scimScreen,
  ...sharesScreen,
  ...connectionsScreen,
  ...auditScreen,
  ...extensionScreen,
  ...instructionsScreen,
  ...slackScreen,
  ...toolsScreen,
  ...noticesScreen,
  ...modelsScreen,
  ...feedbackScreen,
  ...stateScreen,
} as const
