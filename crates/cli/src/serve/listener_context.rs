//! The certificate, the keys and the secrets that all listeners of the process share.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use anyhow::Result;
use orrery_account::{Account, StalenessPolicy};
use orrery_model::Secret;
use orrery_server::{
    Governor, Limits, QueryPlans, Server, ServerHandle, ServerOptions, TlsIdentity,
};

use crate::advertise::Advertise;
use crate::certificate::{self, Certificate};
use crate::host_names::host_names;
use crate::keys::KeySet;
use crate::listen::Listen;
use crate::settings::{DirectSetting, KeySource, Settings};
use crate::startup_report::DirectEndpoint;
use crate::tls::Tls;
use crate::{exposure, key_file, token_secret};

pub(super) struct ListenerContext {
    certificate: Option<Arc<Certificate>>,
    /// The certificate for direct mode, which has TLS also beside plain HTTP. None when direct mode
    /// is off.
    direct_certificate: Option<Arc<Certificate>>,
    direct: DirectSetting,
    bound: StalenessPolicy,
    hsts: bool,
    query_plans: QueryPlans,
    governor: Governor,
    allow_well_known_key: bool,
    /// The account keys and the token secret in use, and the servers that receive changes of both.
    /// One lock covers all four fields: `enlist` and the watchers must not interleave, or a server
    /// could start with old keys and miss the change.
    signing: Mutex<SigningState>,
}

struct SigningState {
    keys: KeySet,
    token_secret: Vec<u8>,
    servers: Vec<ServerHandle>,
    /// The addresses that the regions and the account listen on, for the exposure check of new
    /// keys.
    addresses: Vec<SocketAddr>,
}

impl ListenerContext {
    pub(super) fn load(settings: &Settings, keys: KeySet) -> Result<ListenerContext> {
        let directory = settings.data_location.directory();
        let certificate = certificate::load(&settings.tls, directory, names(settings))?;
        let certificate = certificate.map(Arc::new);
        let direct_certificate = match (settings.direct, &certificate) {
            (DirectSetting::Off, _) => None,
            (_, Some(certificate)) => Some(Arc::clone(certificate)),
            // No SDK speaks direct mode without TLS.
            (_, None) => certificate::load(&Tls::Auto, directory, names(settings))?.map(Arc::new),
        };
        Ok(ListenerContext {
            certificate,
            direct_certificate,
            direct: settings.direct,
            allow_well_known_key: settings.allow_well_known_key,
            bound: settings.bound,
            hsts: settings.hsts,
            query_plans: settings.query_plans,
            governor: Governor::new(limits(settings)),
            signing: Mutex::new(SigningState {
                keys,
                token_secret: token_secret::load(directory)?,
                servers: Vec::new(),
                addresses: Vec::new(),
            }),
        })
    }

    pub(super) fn tls(&self) -> Option<TlsIdentity> {
        let certificate = self.certificate.as_ref();
        certificate.map(|certificate| certificate.identity.clone())
    }

    /// Makes the server of a region listen for clients in direct mode too. `index` is the place of
    /// the region in the settings; None for a region that was added later.
    pub(super) async fn listen_direct(
        &self,
        server: &mut Server,
        index: Option<u16>,
    ) -> Result<Option<DirectEndpoint>> {
        let Some(certificate) = &self.direct_certificate else {
            return Ok(None);
        };
        let own_host = SocketAddr::from((server.local_address().ip(), 0));
        let address = match (self.direct, index) {
            (DirectSetting::At(Listen(listen)), Some(index)) => {
                let port = match listen.port() {
                    0 => 0,
                    port => port.saturating_add(index),
                };
                SocketAddr::from((listen.ip(), port))
            }
            _ => own_host,
        };
        self.check_exposure(address)?;
        let address = server.listen_direct(address, &certificate.identity).await?;
        self.listens_on(address);
        Ok(Some(DirectEndpoint {
            address,
            certificate: certificate.path.clone(),
        }))
    }

    pub(super) fn governor(&self) -> Governor {
        self.governor.clone()
    }

    /// The path of the certificate file that clients are told to trust.
    pub(super) fn certificate(&self) -> Option<PathBuf> {
        let certificate = self.certificate.as_ref();
        certificate.map(|certificate| certificate.path.clone())
    }

    /// Whether the server made its certificate itself, so that clients reject it until a user
    /// trusts it.
    pub(super) fn has_own_certificate(&self) -> bool {
        let certificate = self.certificate.as_ref();
        certificate.is_some_and(|certificate| certificate.is_own())
    }

    pub(super) fn options(
        &self,
        listen: SocketAddr,
        advertise: Option<String>,
        account: Weak<Account>,
    ) -> ServerOptions {
        let signing = self.signing();
        ServerOptions {
            listen,
            account,
            advertise,
            bound: self.bound,
            tls: self.tls(),
            keys: signing.keys.account_keys(),
            token_secret: signing.token_secret.clone(),
            hsts: self.hsts,
            query_plans: self.query_plans,
            governor: self.governor.clone(),
        }
    }

    /// The primary key, if it is the well-known key of the emulator and therefore public.
    pub(super) fn public_key(&self) -> Option<&'static str> {
        self.signing().keys.public_primary()
    }

    /// Refuses an address on which the present keys would open the account to everybody.
    pub(super) fn check_exposure(&self, address: SocketAddr) -> Result<()> {
        exposure::check(&self.signing().keys, address, self.allow_well_known_key)
    }

    /// Records a listen address, so that new keys are checked against it.
    pub(super) fn listens_on(&self, address: SocketAddr) {
        self.signing().addresses.push(address);
    }

    /// Gives the server the present keys and the present token secret, and sends every later change
    /// to this server.
    pub(super) fn enlist(&self, server: &Server) {
        let mut signing = self.signing();
        let handle = server.handle();
        // The key file may have changed after the server was made and before this call.
        handle.set_keys(&signing.keys.account_keys());
        handle.set_token_secret(&signing.token_secret);
        signing.servers.push(handle);
        drop(signing);
        let address = server.local_address();
        self.listens_on(address);
        if self.public_key().is_some() && !address.ip().is_loopback() {
            tracing::warn!(
                %address,
                "OPEN TO THE NETWORK WITH THE WELL-KNOWN KEY: whoever reaches this address may read and change \
                 everything; set a key of your own with --key-file or ORRERY_KEY"
            );
        }
    }

    /// Proposes this process's token secret to the account, and adopts the secret of the write
    /// region when the account publishes another one.
    pub(super) async fn share_token_secret(&self, account: &Account, directory: Option<&Path>) {
        // Subscribe before the proposal: the answer to the proposal must not be missed.
        let mut published = account.token_secret();
        account.set_token_secret(Secret::new(self.signing().token_secret.clone()));
        while published.changed().await.is_ok() {
            let Some(secret) = published.borrow_and_update().clone() else {
                continue;
            };
            let mut signing = self.signing();
            if signing.token_secret == secret.expose() {
                continue;
            }
            signing.token_secret = secret.expose().to_vec();
            for server in &signing.servers {
                server.set_token_secret(secret.expose());
            }
            // The file is written without the lock: requests must not wait for the disk.
            drop(signing);
            match token_secret::store(directory, secret.expose()) {
                Ok(()) => {
                    tracing::info!("took over the secret of resource tokens from the write region");
                }
                // The new secret stays in use: tokens of the other regions must be accepted here,
                // even if the next start begins with the old secret.
                Err(error) => {
                    tracing::error!(%error, "the secret of resource tokens cannot be kept");
                }
            }
        }
    }

    /// Takes over the keys of the key file whenever it changes; does nothing without one.
    pub(super) async fn watch_keys(&self, source: &KeySource) {
        let KeySource::File(path) = source else {
            return;
        };
        let current = self.signing().keys.clone();
        let permitted = |keys: &KeySet| {
            let addresses = self.signing().addresses.clone();
            let mut addresses = addresses.into_iter();
            addresses
                .try_for_each(|address| exposure::check(keys, address, self.allow_well_known_key))
        };
        key_file::watch(path.clone(), current, permitted, |keys| {
            let mut signing = self.signing();
            signing.keys = keys.clone();
            for server in &signing.servers {
                server.set_keys(&keys.account_keys());
            }
        })
        .await;
    }

    /// Renews the certificate in time; does nothing without one.
    pub(super) async fn watch_certificate(&self) {
        let certificate = self.certificate.as_ref();
        // Without TLS of the gateway only direct mode has a certificate.
        if let Some(certificate) = certificate.or(self.direct_certificate.as_ref()) {
            certificate::watch(Arc::clone(certificate)).await;
        }
    }

    fn signing(&self) -> std::sync::MutexGuard<'_, SigningState> {
        self.signing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The limits of the settings, with every name that the server tells clients as an allowed host.
fn limits(settings: &Settings) -> Limits {
    let mut limits = settings.limits.clone();
    limits.allowed_hosts.extend(names(settings));
    limits
}

/// Every host name and address that the server may advertise to clients.
fn names(settings: &Settings) -> Vec<String> {
    let advertised = settings.advertise.as_ref().map(Advertise::host);
    let regions = settings.regions.iter().flat_map(|regions| &regions.regions);
    let account = settings.regions.as_ref();
    let account = account.and_then(|regions| regions.account_listen);
    let listened = regions
        .filter_map(|region| region.listen)
        .chain([settings.listen])
        .chain(account)
        .map(|listen| listen.0.ip())
        .filter(|address| !address.is_unspecified() && settings.regions.is_some())
        .map(|address| address.to_string());
    host_names(advertised.map(str::to_owned).into_iter().chain(listened))
}
