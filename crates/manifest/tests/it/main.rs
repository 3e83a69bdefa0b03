//! Manifests as their users have them: faults as they are drawn, tools as they are called.

mod answered;
mod around;
mod asked;
mod command_lines;
mod directories;
mod faults_in_openapi;
mod faults_in_pipelines;
mod faults_in_prompts;
mod faults_in_requests;
mod faults_in_resources;
mod faults_in_texts;
mod faults_in_tools;
mod faults_in_yaml;
mod faults_of_files;
mod fixture;
mod forge;
mod lifetimes;
mod live;
mod openapi;
mod openapi_bounds;
mod openapi_limits;
#[path = "../../../fetch/tests/it/origin.rs"]
mod origin;
mod outputs;
mod pipeline_bounds;
mod pipelines;
mod prompts;
mod published;
mod resources;
mod servers;
mod state;
mod templates;
mod turns;
mod warnings;
