package org

import "context"

// SweepOnce exports sweepOnce.
func (s *Service) SweepOnce(ctx context.Context) int { return s.sweepOnce(ctx) }
