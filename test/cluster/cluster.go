package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tsumugi-ai/tsumugi/store/postgres"
)

// Config describes a cluster. Program, Servers and Data are required.
type Config struct {
	Program string   // The built program.
	Servers int      // Number of servers.
	NATS    int      // Number of NATS nodes. Default 3.
	Data    string   // Folder for all data: postgres/, nats/, logs/.
	Listen  string   // Address of the balancer. Default: a free port of this machine.
	Host    string   // Host of the servers' and NATS nodes' listeners. Default 127.0.0.1.
	Environ []string // Environment of the servers. Start adds the settings of the cluster.

	// PostgresSettings are further settings of the database. Durable makes a commit survive a power cut.
	PostgresSettings map[string]string
	Durable          bool

	// Fragile puts a Link between each server and each NATS node, so that they can be separated.
	Fragile bool
	// KeepAlive restarts a server that exits by itself.
	KeepAlive bool
	// Report receives progress messages for the user. It may be nil, and is called from several goroutines.
	Report func(text string)
}

// Cluster is a running cluster. Methods with an index act on the server with that index, from 0. They are safe for
// concurrent use on different servers.
type Cluster struct {
	cfg       Config
	log       *slog.Logger
	logFile   io.Closer
	database  *postgres.Server
	nats      *natsNodes
	links     [][]*Link // By server and node, if Fragile.
	addresses []string  // Of the servers.
	balancer  *Balancer
	front     *http.Server
	address   net.Addr
	running   sync.WaitGroup // Goroutines: front's and, if KeepAlive is set, one per server.

	ended context.Context //nolint:containedctx // Stop cancels it.
	end   context.CancelFunc

	mu      sync.Mutex
	servers []*Process // Guarded by mu. The last process of each server.
	program string     // Guarded by mu. The program that Restart starts.
}

// Start starts a cluster and returns when all servers accept traffic. ctx bounds the start only. The caller must call
// Stop.
func Start(ctx context.Context, cfg Config) (*Cluster, error) {
	cfg.NATS = cmp.Or(cfg.NATS, 3)
	cfg.Listen = cmp.Or(cfg.Listen, "127.0.0.1:0")
	cfg.Host = cmp.Or(cfg.Host, "127.0.0.1")
	if cfg.Report == nil {
		cfg.Report = func(string) {}
	}
	data, err := filepath.Abs(cfg.Data)
	if err != nil {
		return nil, err
	}
	cfg.Data = data
	c := &Cluster{cfg: cfg, servers: make([]*Process, cfg.Servers), program: cfg.Program}
	c.ended, c.end = context.WithCancel(context.Background())
	if err := c.start(ctx); err != nil {
		stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), startTimeout)
		defer cancel()
		return nil, errors.Join(err, c.Stop(stopCtx))
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) error {
	logs := filepath.Join(c.cfg.Data, "logs")
	// The database's account must pass through the parent folder.
	if err := os.MkdirAll(logs, 0o755); err != nil { //nolint:gosec
		return err
	}
	file, err := os.OpenFile(filepath.Join(logs, "cluster.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	c.logFile, c.log = file, slog.New(slog.NewTextHandler(file, nil))
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", c.cfg.Listen)
	if err != nil {
		return err
	}
	c.address = listener.Addr()
	if err := c.startParts(ctx); err != nil {
		return errors.Join(err, listener.Close())
	}
	c.balancer = NewBalancer(c.addresses, c.log.With("part", "balancer")) //nolint:contextcheck // It runs until Stop.
	c.front = &http.Server{Handler: c.balancer, ReadHeaderTimeout: 10 * time.Second}
	c.running.Go(func() { _ = c.front.Serve(listener) }) // Returns after Stop.
	return nil
}

// startParts starts the database, NATS and the servers. The first server starts alone and creates the schema and the
// demo data.
func (c *Cluster) startParts(ctx context.Context) error {
	if err := c.StartPostgres(ctx); err != nil {
		return err
	}
	c.cfg.Report("PostgreSQL " + c.database.Version() + "  " + c.database.DataDir())
	var err error
	if c.nats, err = startNATS(ctx, c.cfg.Host, filepath.Join(c.cfg.Data, "nats"), c.cfg.NATS); err != nil {
		return err
	}
	for i := range c.cfg.NATS {
		c.cfg.Report(fmt.Sprintf("NATS %d        nats://%s", i+1, c.nats.address(i)))
	}
	if err := c.makeAddresses(ctx); err != nil {
		return err
	}
	if err := c.Restart(ctx, 0); err != nil {
		return err
	}
	errs := make([]error, c.cfg.Servers)
	var others sync.WaitGroup
	for i := 1; i < c.cfg.Servers; i++ {
		others.Go(func() { errs[i] = c.Restart(ctx, i) })
	}
	others.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if c.cfg.KeepAlive {
		for i := range c.cfg.Servers {
			c.running.Go(func() { c.keepAlive(i) }) //nolint:contextcheck // It runs until Stop.
		}
	}
	return nil
}

func (c *Cluster) makeAddresses(ctx context.Context) error {
	for range c.cfg.Servers {
		address, err := FreeAddress(ctx, c.cfg.Host)
		if err != nil {
			return err
		}
		c.addresses = append(c.addresses, address)
		var links []*Link
		for node := range c.cfg.NATS {
			if !c.cfg.Fragile {
				break
			}
			link, err := NewLink(ctx, c.nats.address(node))
			if err != nil {
				return err
			}
			links = append(links, link)
		}
		c.links = append(c.links, links)
	}
	return nil
}

// URL returns the address of the balancer, with http://.
func (c *Cluster) URL() string { return "http://" + c.address.String() }

// DSN returns the connection string of the database.
func (c *Cluster) DSN() string { return c.database.DSN() }

// Len returns the number of servers.
func (c *Cluster) Len() int { return c.cfg.Servers }

// Server returns the last process of a server, which may have exited.
func (c *Cluster) Server(i int) *Process {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.servers[i]
}

// UseProgram replaces Config.Program for the servers that Restart starts from now on.
func (c *Cluster) UseProgram(path string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.program = path
}

// Restart starts a server whose process has exited, and returns when it accepts traffic.
func (c *Cluster) Restart(ctx context.Context, i int) error {
	c.mu.Lock()
	program := c.program
	c.mu.Unlock()
	p, err := Launch(ctx, ProcessConfig{
		Program: program, Listen: c.addresses[i], Data: c.cfg.Data,
		Log: filepath.Join(c.cfg.Data, "logs", fmt.Sprintf("server-%d.log", i+1)), Environ: c.environ(i),
	})
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.servers[i] = p
	c.mu.Unlock()
	c.cfg.Report(fmt.Sprintf("サーバー %d     %s  pid %d", i+1, p.URL(), p.PID()))
	return nil
}

// environ returns the environment of a server, with the settings that connect it to the cluster.
func (c *Cluster) environ(i int) []string {
	nats := make([]string, c.cfg.NATS)
	for node := range nats {
		address := c.nats.address(node)
		if c.cfg.Fragile {
			address = c.links[i][node].Address()
		}
		nats[node] = "nats://" + address
	}
	return append(c.cfg.Environ[:len(c.cfg.Environ):len(c.cfg.Environ)],
		"DATABASE_URL="+c.database.DSN(), "NATS_URL="+strings.Join(nats, ","), "TSUMUGI_PUBLIC_URL="+c.URL())
}

// keepAlive restarts a server whenever it exits, until the cluster stops.
func (c *Cluster) keepAlive(i int) {
	for {
		p := c.Server(i)
		<-p.Exited()
		if c.ended.Err() != nil {
			return
		}
		c.cfg.Report(fmt.Sprintf("サーバー %d が終了しました（%s）。起動し直します。", i+1, p.ExitReason()))
		for {
			err := c.Restart(c.ended, i)
			if err == nil {
				break
			}
			c.log.Error("a server did not start", "server", i+1, "err", err)
			select {
			case <-time.After(time.Second):
			case <-c.ended.Done():
				return
			}
		}
		if c.ended.Err() != nil {
			c.Kill(i) // Stop was called before this process existed.
			return
		}
	}
}

// Kill kills a server's process.
func (c *Cluster) Kill(i int) { c.Server(i).Kill() }

// StopServer stops a server gracefully.
func (c *Cluster) StopServer(ctx context.Context, i int) error { return c.Server(i).Stop(ctx) }

// CutNATS closes the connections of a server to NATS and refuses new ones until HealNATS. Config.Fragile must be set.
func (c *Cluster) CutNATS(i int) {
	for _, link := range c.links[i] {
		link.Cut()
	}
}

// SilenceNATS delays all traffic between a server and NATS until HealNATS. Config.Fragile must be set.
func (c *Cluster) SilenceNATS(i int) {
	for _, link := range c.links[i] {
		link.Silence()
	}
}

// HealNATS restores the connections of a server to NATS.
func (c *Cluster) HealNATS(i int) {
	for _, link := range c.links[i] {
		link.Heal()
	}
}

// StopNATS stops a NATS node.
func (c *Cluster) StopNATS(node int) {
	c.nats.nodes[node].Shutdown()
	c.nats.nodes[node].WaitForShutdown()
}

// StartNATS restarts a NATS node. AwaitNATS waits until it is ready.
func (c *Cluster) StartNATS(node int) error { return c.nats.start(node) }

// AwaitNATS returns when all NATS nodes are up to date and have a leader.
func (c *Cluster) AwaitNATS(ctx context.Context) error { return c.nats.await(ctx) }

// StopPostgres stops the database.
func (c *Cluster) StopPostgres(ctx context.Context) error { return c.database.Stop(ctx) }

// StartPostgres restarts the database at its previous address.
func (c *Cluster) StartPostgres(ctx context.Context) error {
	// Each server has up to 16 connections.
	settings := map[string]string{"max_connections": strconv.Itoa(50 + 20*c.cfg.Servers)}
	for name, value := range c.cfg.PostgresSettings {
		settings[name] = value
	}
	var err error
	c.database, err = postgres.Start(ctx, postgres.Config{
		DataDir: filepath.Join(c.cfg.Data, "postgres"), Durable: c.cfg.Durable, Settings: settings,
		Logger: c.log.With("part", "postgres"),
	})
	return err
}

// Stop first stops the servers gracefully, for which ctx is the time limit, and then the other parts.
func (c *Cluster) Stop(ctx context.Context) error {
	c.end()
	c.mu.Lock()
	servers := slices.Clone(c.servers)
	c.mu.Unlock()
	errs := make([]error, len(servers)+1)
	var stops sync.WaitGroup
	for i, p := range servers {
		if p == nil {
			continue
		}
		select {
		case <-p.Exited():
			continue // The process has exited.
		default:
		}
		stops.Go(func() {
			p.Resume()
			errs[i] = p.Stop(ctx)
		})
	}
	stops.Wait()
	if c.front != nil {
		_ = c.front.Close()
		c.balancer.Close()
	}
	c.running.Wait()
	for _, links := range c.links {
		for _, link := range links {
			link.Close()
		}
	}
	if c.nats != nil {
		c.nats.stop()
	}
	if c.database != nil {
		errs[len(servers)] = c.database.Stop(ctx)
	}
	if c.logFile != nil {
		_ = c.logFile.Close()
	}
	return errors.Join(errs...)
}
